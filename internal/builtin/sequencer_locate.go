package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
)

// locateSequence returns the path of the field in an input to which a fatal result refers, or "". The
// input is in JSON.
func locateSequence(fatal string, input []byte) string {
	in := &SequencerInput{}
	if json.Unmarshal(input, in) != nil {
		return ""
	}
	if strings.HasPrefix(fatal, "cannot set cacheTTL: ") {
		return "cacheTTL"
	}
	for i, rule := range in.Rules {
		if strings.HasPrefix(fatal, fmt.Sprintf("cannot evaluate condition %q for sequence %v: ", rule.Condition, rule.Sequence)) {
			return fmt.Sprintf("rules[%d].condition", i)
		}
		if strings.HasPrefix(fatal, fmt.Sprintf("rule for sequence %v cannot have ", rule.Sequence)) && rule.CreateOnly && rule.DeleteOnly {
			return fmt.Sprintf("rules[%d]", i)
		}
		for j, pattern := range rule.Sequence {
			if strings.HasPrefix(fatal, fmt.Sprintf("cannot compile regex %s: ", pattern)) {
				return fmt.Sprintf("rules[%d].sequence[%d]", i, j)
			}
		}
	}
	return ""
}
