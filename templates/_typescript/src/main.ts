import { serve } from "@crossplane-org/function-sdk-typescript";

import { compose } from "./function.js";

// The flags of the program are those that Crossplane and its tools expect: see --help.
serve(compose, { name: "function-example" });
