"""Microsoft's DirectML.dll, or another DLL with its ABI: what runs it here, and how that is prepared."""
