package jobs

import (
	"cmp"
	"slices"
)

// SlotUse is how many slots of a kind, and of a pool of it, are in use.
type SlotUse struct {
	Kind, Pool  string
	Used, Slots int
}

// Slots tells what is in use now, by kind and pool. A slot is in use until its
// job is settled.
func (w *Worker) Slots() []SlotUse {
	var list []SlotUse
	for _, p := range w.pumps {
		p.mu.Lock()
		used := len(p.running)
		p.mu.Unlock()
		list = append(list, SlotUse{p.kind.Name, p.kind.Pool, used, p.kind.Slots})
	}
	slices.SortFunc(list, func(a, b SlotUse) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Pool, b.Pool)) })
	return list
}
