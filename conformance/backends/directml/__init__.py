"""Microsoft's DirectML.dll, or another DLL with its ABI: how it is run, and how that is prepared."""
