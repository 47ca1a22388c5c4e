import { fromModel, normal, type ComposeFunction } from "@crossplane-org/function-sdk-typescript";
import { Deployment } from "kubernetes-models/apps/v1";
import { Service } from "kubernetes-models/v1";
import { stringify } from "yaml";

export const compose: ComposeFunction = (req, rsp, logger) => {
  const name: string = req.observed?.composite?.resource?.metadata?.name ?? "x";
  rsp.desired.resources["service"] = fromModel(new Service({ metadata: { name }, spec: { ports: [{ port: 80 }] } }));
  rsp.desired.resources["deployment"] = fromModel(new Deployment({ metadata: { name }, spec: { selector: {}, template: {} } }));
  logger?.info(stringify({ a: 1 }));
  normal(rsp, "done");
  return rsp;
};
