package generate

// paper is a sheet with long fibres and slow stains.
type paper struct {
	s             *sketch
	color         rgb
	fibre, strand []float64
}

func newPaper(s *sketch, color rgb) *paper {
	return &paper{s: s, color: color, fibre: make([]float64, s.w), strand: make([]float64, s.w)}
}

// paint fills a row with the bare sheet.
func (p *paper) paint(yy float64, row []rgb) {
	n, u := p.s.n, p.s.unit
	p.s.sampled(p.fibre, u/7, func(x float64) float64 {
		return 0.016*n.at(x/u*7, yy/u*120) + 0.022*n.at(x/u*1.7+30, yy/u*1.7)
	})
	p.s.sampled(p.strand, u/40, func(x float64) float64 { return 0.010 * n.at(x/u*40, yy/u*260) })
	for x := range row {
		row[x] = p.color.scale(1 + p.fibre[x] + p.strand[x])
	}
}
