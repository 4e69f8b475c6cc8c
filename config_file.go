package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// maxSettingFile bounds a file that holds a setting, in bytes: certificates are
// the largest.
const maxSettingFile = 1 << 20

// readSettingFile reads a file that a setting names. What is no regular file
// could wait, or go on, for ever.
func readSettingFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSettingFile+1))
	if err == nil && len(content) > maxSettingFile {
		return nil, fmt.Errorf("larger than %d bytes", maxSettingFile)
	}
	return content, err
}
