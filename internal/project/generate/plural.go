package generate

import (
	"strings"
	"sync"
	"unicode"
)

// irregular has words and endings of words, each before its plural. Like the crossplane CLI, it has
// plurals that other tools form in another way, such as videoes.
const irregular = `
	person people child children man men human humans mouse mice foot feet tooth teeth goose geese
	criterion criteria phenomenon phenomena lexicon lexica taxon taxa hedron hedra
	index indices vertex vertices vortex vortices apex apices codex codices latex latices
	trix trices appendix appendices radix radices helix helices
	crisis crises genesis geneses oasis oases thesis theses basis bases ellipsis ellipses base bases
	iasis iases mesis meses resis reses gnosis gnoses opsis opses ysis yses
	focus foci locus loci nucleus nuclei radius radii cactus cacti corpus corpora genus genera us uses
	medium media media media stadium stadiums curriculum curriculums seum seums ium ia eum ea dum da
	elum ela ilum ila olum ola ulum ula llum lla imum ima ernum erna brum bra crum cra terum tera
	serum sera trum tra antum anta atum ata entum enta etum eta itum ita otum ota utum uta ctum cta
	quota quotas formula formulas agenda agendas bula bulae
	equipment equipment information information money money news news series series species species
	aircraft aircraft chassis chassis fish fish police police
	eaf eaves oaf oaves afe aves arf arves rfe rves rf rves lf lves fe ves thief thieves tive tives
	ay ays ey eys oy oys uy uys quy quies y ies movie movies cookie cookies hive hives move moves
	bureau bureaus eau eaux io ios ano anos lo los to tos oo oos o oes potato potatoes shoe shoes
	house houses ouse ouses use uses cause causes clause clauses pause pauses ache aches alias aliases
	ch ches sh shes ss sses x xes ez ezzes iz izzes tz tzes zz zzes S Ses`

// plurals has the plurals of irregular. A plural is its own plural.
var plurals = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	words := strings.Fields(irregular)
	for _, plural := range words {
		all[plural] = plural
	}
	for i := 0; i < len(words); i += 2 {
		all[words[i]] = words[i+1]
	}
	return all
})

func pluralOf(kind string) string {
	begin := 0 // of the last word
	var before rune
	for i, r := range kind {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			begin = i
		}
		before = r
	}
	lower := strings.ToLower(kind)
	if plural, ok := plurals()[lower[begin:]]; ok {
		return lower[:begin] + plural
	}
	for i := begin; i < len(kind); i++ {
		if plural, ok := plurals()[kind[i:]]; ok {
			return strings.ToLower(kind[:i] + plural)
		}
	}
	return strings.TrimSuffix(lower, "s") + "s"
}
