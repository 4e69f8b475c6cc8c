//go:build linux || darwin || freebsd

package storage

import "syscall"

// freeSpace is what an ordinary user may still write below dir, in bytes.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
