package fetch

import "errors"

// scanIsWhole decodes the only scan of a baseline JPEG far enough to count its blocks: the codes
// are read and thrown away. It is asked only about files without end marker. Progressive pictures
// have many scans, and one without an end may lack any number of them: they are never whole.
func scanIsWhole(f *file) bool {
	s := &scan{file: f}
	w := jpegWalk{file: f}
	for off := int64(2); ; {
		marker, at, err := w.marker(off)
		if err != nil {
			return false
		}
		size, err := f.bytes(at, 2)
		if err != nil {
			return false
		}
		n := be16(size)
		off = at + int64(n)
		if marker >= 0xe0 { // application data and comments
			continue
		}
		b, err := f.bytes(at, n)
		if err != nil || n < 2 || !s.segment(marker, b[2:]) {
			return false
		}
		if marker == 0xda {
			s.off = off
			return s.run() == nil
		}
	}
}

// scan reads the entropy-coded data of one baseline scan.
type scan struct {
	*file
	width, height int
	restart       int // blocks groups between restart markers; 0: none
	comps         []component
	tables        [2][4]huffman // DC, AC

	off  int64
	acc  uint32 // bits read ahead
	bits int
}

type component struct {
	id     byte
	blocks int // in a group
	h, v   int
	dc, ac *huffman
}

// segment keeps what the scan needs; false: a kind of JPEG that is not understood here.
func (s *scan) segment(marker byte, b []byte) bool {
	switch {
	case marker == 0xc0 || marker == 0xc1:
		return s.frameHeader(b)
	case isStartOfFrame(marker):
		return false
	case marker == 0xc4:
		return s.huffmanTables(b)
	case marker == 0xdd && len(b) >= 2:
		s.restart = be16(b)
	case marker == 0xda:
		return s.scanHeader(b)
	}
	return true
}

func (s *scan) frameHeader(b []byte) bool {
	if len(b) < 6 || len(b) < 6+3*int(b[5]) {
		return false
	}
	s.height, s.width = be16(b[1:]), be16(b[3:])
	s.comps = nil
	for i := range int(b[5]) {
		c := b[6+3*i:]
		h, v := int(c[1]>>4), int(c[1]&15)
		if h < 1 || h > 4 || v < 1 || v > 4 {
			return false
		}
		s.comps = append(s.comps, component{id: c[0], h: h, v: v, blocks: h * v})
	}
	return true
}

func (s *scan) huffmanTables(b []byte) bool {
	for len(b) >= 17 {
		class, id := b[0]>>4, b[0]&15
		if class > 1 || id > 3 {
			return false
		}
		n := s.tables[class][id].build(b[1:])
		if n < 0 {
			return false
		}
		b = b[1+n:]
	}
	return len(b) == 0
}

// scanHeader wants all components in one scan.
func (s *scan) scanHeader(b []byte) bool {
	if len(b) < 1 || int(b[0]) != len(s.comps) || len(b) < 1+2*len(s.comps) {
		return false
	}
	for i := range s.comps {
		c, t := &s.comps[i], b[2+2*i]
		if b[1+2*i] != c.id || t>>4 > 3 || t&15 > 3 {
			return false
		}
		c.dc, c.ac = &s.tables[0][t>>4], &s.tables[1][t&15]
	}
	return true
}

var errScan = errors.New("the scan is not whole")

// run reads every block of the picture.
func (s *scan) run() error {
	groups := s.groups()
	for i := range groups {
		if s.restart > 0 && i > 0 && i%s.restart == 0 {
			if err := s.skipRestart(); err != nil {
				return err
			}
		}
		for _, c := range s.comps {
			for range c.blocks {
				if err := s.block(c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// groups is the number of block groups (MCUs) of the picture.
func (s *scan) groups() int {
	h, v := 1, 1
	for _, c := range s.comps {
		h, v = max(h, c.h), max(v, c.v)
	}
	if len(s.comps) == 1 { // then a group is one block, whatever the factors
		s.comps[0].blocks, h, v = 1, 1, 1
	}
	return ((s.width + 8*h - 1) / (8 * h)) * ((s.height + 8*v - 1) / (8 * v))
}

func (s *scan) block(c component) error {
	size, err := s.code(c.dc)
	if err != nil {
		return err
	}
	if err := s.skip(int(size)); err != nil {
		return err
	}
	for k := 1; k < 64; k++ {
		rs, err := s.code(c.ac)
		if err != nil {
			return err
		}
		run, size := int(rs>>4), int(rs&15)
		if size == 0 && run != 15 {
			break
		}
		k += run
		if err := s.skip(size); err != nil {
			return err
		}
	}
	return nil
}

// code reads one Huffman code.
func (s *scan) code(t *huffman) (byte, error) {
	code := 0
	for length := range 16 {
		bit, err := s.bit()
		if err != nil {
			return 0, err
		}
		code = code<<1 | bit
		if i := code - t.first[length]; i >= 0 && i < t.count[length] {
			return t.values[t.index[length]+i], nil
		}
	}
	return 0, errScan
}

func (s *scan) skip(n int) error {
	for range n {
		if _, err := s.bit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) bit() (int, error) {
	if s.bits == 0 {
		b, err := s.bytes(s.off, 1)
		if err != nil {
			return 0, err
		}
		s.acc, s.bits = uint32(b[0]), 8
		s.off++
		if s.acc == 0xff { // a zero byte follows that is no data
			if next, err := s.bytes(s.off, 1); err != nil || next[0] != 0 {
				return 0, errScan
			}
			s.off++
		}
	}
	s.bits--
	return int(s.acc >> s.bits & 1), nil
}

func (s *scan) skipRestart() error {
	s.bits = 0
	b, err := s.bytes(s.off, 2)
	if err != nil || b[0] != 0xff || b[1]&^7 != 0xd0 {
		return errScan
	}
	s.off += 2
	return nil
}

// huffman is a table of codes by length, 1 to 16 bits.
type huffman struct {
	first, count, index [16]int // of each length: first code, how many, where their values begin
	values              [256]byte
}

// build reads a table and gives the bytes it took, or -1.
func (t *huffman) build(b []byte) int {
	code, total := 0, 0
	for i := range 16 {
		t.first[i], t.count[i], t.index[i] = code, int(b[i]), total
		total += int(b[i])
		code = (code + int(b[i])) << 1
	}
	if total > len(t.values) || len(b) < 16+total {
		return -1
	}
	copy(t.values[:], b[16:16+total])
	return 16 + total
}
