import "./changed.js";
import { serve } from "@crossplane-org/function-sdk-typescript";
import { compose } from "./function.js";

serve(compose);
