"""Models in DxDispatch's JSON form: read, run and written."""
