import assert from "node:assert/strict";
import { test } from "node:test";

import { fromCompose, RunFunctionRequest, Severity } from "@crossplane-org/function-sdk-typescript";

import { compose } from "./function.js";

function run(spec: Record<string, unknown>) {
  const resource = { apiVersion: "platform.example.org/v1alpha1", kind: "App", metadata: { name: "shop" }, spec };
  const input = { environments: { staging: { replicas: 1 }, production: { replicas: 3 } } };
  return fromCompose(compose).RunFunction(RunFunctionRequest.fromJSON({ input, observed: { composite: { resource } } }));
}

test("an App has the replicas of its environment", async () => {
  const rsp = await run({ image: "shop:1", environment: "production" });
  assert.deepEqual(Object.keys(rsp.desired?.resources ?? {}).sort(), ["deployment", "service"]);
  assert.equal(rsp.desired?.resources["deployment"]?.resource?.["spec"].replicas, 3);
});

test("an unknown environment is a fatal result", async () => {
  const rsp = await run({ image: "shop:1", environment: "dev" });
  assert.equal(rsp.results[0]?.severity, Severity.SEVERITY_FATAL);
  assert.match(rsp.results[0]?.message ?? "", /one of production, staging, got "dev"/);
});
