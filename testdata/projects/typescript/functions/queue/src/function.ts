// The handler of the function with the SDK. The test that runs it adds the SDK, and a main.ts
// that serves this handler.
import { fromObject, getObservedCompositeResource, type ComposeFunction } from "@crossplane-org/function-sdk-typescript";

import { compose as settings, type QueueSpec } from "./compose.js";

export const compose: ComposeFunction = (req, rsp) => {
  const queue = getObservedCompositeResource(req)?.resource as { spec: QueueSpec } | undefined;
  const data = settings(queue?.spec ?? { fifo: false });
  rsp.desired.resources["queue"] = fromObject({ apiVersion: "v1", kind: "ConfigMap", data });
  return rsp;
};
