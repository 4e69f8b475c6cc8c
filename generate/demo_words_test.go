package generate

import "testing"

func TestWordsChooseTheScene(t *testing.T) {
	for _, test := range []struct{ prompt, scene, mood string }{
		{"A lighthouse in fog, long exposure", "lighthouse", "mist"},
		{"a lighthouse under the moon", "lighthouse", "night"},
		{"雾中的灯塔，长曝光", "lighthouse", "mist"},
		{"Moonrise over a still sea", "moonrise", ""},
		{"静海月升", "moonrise", "night"},
		{"海上日出", "moonrise", "dawn"},
		{"neon koi", "koi", "neon"},
		{"霓虹锦鲤", "koi", "neon"},
		{"Dunes at the last light", "dunes", "dusk"},
		{"最后一缕光里的沙漠, 黄昏", "dunes", "dusk"},
		{"Blue mountains before sunrise", "ridges", "dawn"},
		{"日出前的蓝色山脊", "ridges", "dawn"},
		{"Aurora over a frozen lake", "aurora", ""},
		{"冰湖上的极光", "aurora", ""},
		{"PINES, in morning MIST!", "pines", "mist"},
		{"晨雾中的松林", "pines", "mist"},
		{"Red sun and paper hills, woodblock print", "redsun", ""},
		{"红日与纸山，木版画", "redsun", ""},
		{"Ink currents, violet on bone paper", "currents", ""},
		{"骨白纸上的紫色墨流", "currents", ""},
		{"A ringed planet seen from its smallest moon", "planet", "night"},
		{"Apartment windows at dusk", "city", "dusk"},
		{"黄昏的公寓窗户", "city", "dusk"},
		{"Marbled endpaper, teal and rust", "marble", ""},
		{"an oil painting of a mountain", "ridges", ""},
		{"a mountaineer", "", ""}, // no whole word: the hash chooses
	} {
		t.Run(test.prompt, func(t *testing.T) {
			got := readLook(test.prompt, 3)
			want := test.scene
			if want == "" {
				want = sceneOrder[3]
			}
			if got.scene != want || got.mood != test.mood {
				t.Errorf("got scene %q, mood %q; want %q, %q", got.scene, got.mood, want, test.mood)
			}
		})
	}
}

func TestWordsChooseTheColours(t *testing.T) {
	for _, test := range []struct {
		prompt string
		want   []string
	}{
		{"a quiet sea", nil},
		{"red dunes", []string{"red"}},
		{"teal and rust", []string{"teal", "orange"}},
		{"rust and teal", []string{"orange", "teal"}},
		{"a credible thing", nil}, // "red" is not a word here
		{"蓝色的海，金色的光", []string{"blue", "gold"}},
		{"白天的海", nil}, // day, not white
		{"red, green, blue", []string{"red", "green"}},
	} {
		t.Run(test.prompt, func(t *testing.T) {
			got := readLook(test.prompt, 0).tints
			if len(got) != len(test.want) {
				t.Fatalf("got %d colours, want %v", len(got), test.want)
			}
			for i, name := range test.want {
				if got[i] != tintValues[name] {
					t.Errorf("colour %d: got %v, want %s", i, got[i], name)
				}
			}
		})
	}
}

func TestEveryWordLeadsSomewhere(t *testing.T) {
	for _, m := range sceneWords {
		if scenes[m.value] == nil {
			t.Errorf("no scene %q", m.value)
		}
	}
	for _, m := range moodWords {
		if lights[m.value] == nil {
			t.Errorf("no light %q", m.value)
		}
	}
	for _, m := range tintWords {
		if _, ok := tintValues[m.value]; !ok {
			t.Errorf("no tint %q", m.value)
		}
	}
	for _, name := range sceneOrder {
		if scenes[name] == nil {
			t.Errorf("no scene %q", name)
		}
	}
	if len(sceneOrder) != len(scenes) {
		t.Errorf("%d scenes, %d of them stand in", len(scenes), len(sceneOrder))
	}
}
