package storage

// FreeSpace is how many bytes an ordinary user may still write below a folder;
// errors.ErrUnsupported where the system does not say.
func FreeSpace(dir string) (int64, error) { return freeSpace(dir) }
