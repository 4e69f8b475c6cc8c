package generate

import (
	"strings"
	"unicode"
)

// look is what the words of a prompt say about a picture.
type look struct {
	// scene is a name from scenes.
	scene string

	// mood is the light: "dawn", "day", "dusk", "night", "mist", "neon", or
	// empty for the scene to choose.
	mood string

	// tints are the colours asked for, in the order of the words; two at most.
	tints []tint
}

// meaning is what words stand for, in English and Chinese. An English word
// counts as a whole word, with or without a plural s; a Chinese one anywhere.
type meaning struct {
	value  string
	weight int
	words  string
}

// sceneWords name the scenes. The heavier meaning wins: in "a lighthouse
// under the moon" the lighthouse is the subject and the moon its light.
var sceneWords = []meaning{
	{"lighthouse", 5, "lighthouse beacon 灯塔 燈塔"},
	{"koi", 5, "koi fish carp goldfish pond lotus lily 锦鲤 錦鯉 鲤 鲤鱼 金鱼 鱼 池塘 莲 荷"},
	{"aurora", 5, "aurora borealis northern polar arctic 极光 極光 北极"},
	{"redsun", 5, "woodblock ukiyo hokusai print japan japanese 浮世绘 木版画 木刻 版画 红日 紅日"},
	{"planet", 5, "planet saturn jupiter ringed space galaxy cosmos cosmic orbit asteroid astronaut universe 行星 土星 宇宙 太空 星系 银河"},
	{"city", 5, "city skyline apartment building skyscraper street downtown tokyo town urban 城市 公寓 高楼 摩天 街 都市 窗户"},
	{"dunes", 4, "dune desert sand sahara camel oasis 沙漠 沙丘 沙 大漠 骆驼"},
	{"pines", 4, "pine forest wood tree fir spruce conifer woodland jungle 松 森林 树林 树 林"},
	{"currents", 4, "current flow abstract swirl stream 墨流 抽象 流动 线条"},
	{"marble", 4, "marble marbled marbling endpaper agate 大理石 玛瑙"},
	{"ridges", 3, "mountain ridge hill peak valley alp alpine summit cliff highland volcano snow landscape 山 峰 岭 丘陵 谷 雪 山水"},
	{"moonrise", 3, "moon moonlight moonrise lunar sea ocean beach coast tide harbor harbour lake river boat 月 海 洋 潮 湖 江 河"},
	{"redsun", 2, "sun wave 太阳 浪 波"},
	{"currents", 1, "ink line wind smoke silk hair pattern paper 墨 丝 烟"},
	{"marble", 1, "liquid acrylic oil paint lava 流体 岩浆"},
	{"planet", 1, "star starry 星"},
}

var moodWords = []meaning{
	{"neon", 3, "neon cyberpunk synthwave vaporwave electric glowing 霓虹 赛博 荧光"},
	{"mist", 3, "mist misty fog foggy haze hazy cloudy overcast rain 雾 霭 烟雨 云 雨"},
	{"dawn", 2, "dawn sunrise morning daybreak spring 黎明 日出 清晨 早晨 晨 拂晓 春"},
	{"dusk", 2, "dusk sunset evening twilight golden autumn fall last 黄昏 日落 傍晚 夕阳 暮 秋"},
	{"night", 2, "night midnight dark moonlit nocturne starry 夜 午夜 黑暗 星空"},
	{"day", 2, "day daylight noon sunny bright summer clear 白天 正午 晴 阳光 夏"},
	{"night", 1, "moon moonlight 月"},
}

// tintWords name colours; the values are keys of tintValues.
var tintWords = []meaning{
	{"red", 1, "red crimson scarlet ruby vermilion blood 红 紅 赤 朱"},
	{"orange", 1, "orange rust copper tangerine amber 橙 橘 铜"},
	{"gold", 1, "gold golden yellow honey mustard 金色 金黄 黄色"},
	{"green", 1, "green emerald jade moss olive 绿 綠 翠 碧"},
	{"teal", 1, "teal turquoise cyan aqua 青色 蓝绿"},
	{"blue", 1, "blue azure cobalt navy sapphire indigo 蓝 藍 靛"},
	{"violet", 1, "violet purple lavender lilac plum amethyst 紫"},
	{"pink", 1, "pink magenta rose fuchsia blossom sakura 粉 玫瑰 樱"},
	{"grey", 1, "black white grey gray monochrome silver charcoal noir 黑色 白色 黑白 灰色 银色 水墨"},
}

var tintValues = map[string]tint{
	"red":    {27, 0.17},
	"orange": {55, 0.14},
	"gold":   {86, 0.12},
	"green":  {150, 0.11},
	"teal":   {195, 0.09},
	"blue":   {258, 0.13},
	"violet": {300, 0.14},
	"pink":   {355, 0.18},
	"grey":   {},
}

// readLook finds the scene, the light and the colours in a prompt. Where no
// word names a scene, the prompt's hash chooses one.
func readLook(prompt string, hash uint64) look {
	text := newWordText(prompt)
	out := look{scene: heaviest(text, sceneWords), mood: heaviest(text, moodWords)}
	if out.scene == "" {
		out.scene = sceneOrder[hash%uint64(len(sceneOrder))]
	}
	for _, name := range text.inOrder(tintWords) {
		if len(out.tints) < 2 {
			out.tints = append(out.tints, tintValues[name])
		}
	}
	return out
}

// heaviest adds up the weights of the words found; the first of equals wins.
func heaviest(text wordText, list []meaning) string {
	best, bestWeight := "", 0
	weights := map[string]int{}
	for _, m := range list {
		for word := range strings.FieldsSeq(m.words) {
			if text.find(word) >= 0 {
				weights[m.value] += m.weight
			}
		}
		if weights[m.value] > bestWeight {
			best, bestWeight = m.value, weights[m.value]
		}
	}
	return best
}

// wordText is a prompt in small letters, with one space around each word.
type wordText string

func newWordText(prompt string) wordText {
	fields := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return wordText(" " + strings.Join(fields, " ") + " ")
}

// find gives the place of a word, or -1.
func (t wordText) find(word string) int {
	if word[0] >= 0x80 { // Chinese has no spaces
		return strings.Index(string(t), word)
	}
	for _, form := range []string{word, word + "s", word + "es"} {
		if at := strings.Index(string(t), " "+form+" "); at >= 0 {
			return at
		}
	}
	return -1
}

// inOrder gives the values found, in the order in which the text names them.
func (t wordText) inOrder(list []meaning) []string {
	var out []string
	taken := map[string]bool{}
	for {
		best, bestAt := "", len(t)
		for _, m := range list {
			for word := range strings.FieldsSeq(m.words) {
				if at := t.find(word); at >= 0 && at < bestAt && !taken[m.value] {
					best, bestAt = m.value, at
				}
			}
		}
		if best == "" {
			return out
		}
		taken[best] = true
		out = append(out, best)
	}
}
