"""The client program and the capture DLL: their tables, how they are built, and where they lie."""
