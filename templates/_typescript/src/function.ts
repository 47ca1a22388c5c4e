import {
  fatal,
  fromObject,
  getInput,
  getObservedComposedResources,
  getObservedCompositeResource,
  normal,
  Ready,
  setDesiredCompositeStatus,
  type ComposeFunction,
} from "@crossplane-org/function-sdk-typescript";

/** The settings that the Apps of an environment share. */
interface Environment {
  replicas: number;
}

/** The input in a Composition. Its schema is package-function/input/inputs.yaml. */
interface Input {
  environments?: Record<string, Environment>;
}

/** The composite resource. Its schema is example/definition.yaml. */
interface App {
  metadata: { name: string };
  spec: { image: string; environment: string; port?: number; replicas?: number };
}

/**
 * compose handles one request of Crossplane. The response starts with the desired state of
 * earlier functions in the pipeline. The same request always gives the same response.
 */
export const compose: ComposeFunction = (req, rsp, logger) => {
  const app = getObservedCompositeResource(req)?.resource as App | undefined;
  const environments = (getInput(req) as Input | undefined)?.environments ?? {};
  const environment = environments[app?.spec.environment ?? ""];
  if (!app || !environment) {
    const known = Object.keys(environments).sort().join(", ");
    fatal(rsp, `spec.environment must be one of ${known}, got "${app?.spec.environment}"`);
    return rsp;
  }
  logger?.debug({ app: app.metadata.name }, "composing");

  const observed = getObservedComposedResources(req);
  for (const [name, object] of Object.entries(resources(app, environment))) {
    const ready = name in observed && (name !== "deployment" || isAvailable(observed[name]?.resource));
    const resource = fromObject(object);
    resource.ready = ready ? Ready.READY_TRUE : Ready.READY_FALSE;
    rsp.desired.resources[name] = resource;
  }
  setDesiredCompositeStatus({ rsp, status: { url: `http://${app.metadata.name}` } });
  normal(rsp, `Composed ${Object.keys(rsp.desired.resources).length} resources for environment "${app.spec.environment}"`);
  return rsp;
};

/** resources returns the composed resources of an App by name. */
function resources(app: App, environment: Environment): Record<string, Record<string, unknown>> {
  const labels = { "app.kubernetes.io/name": app.metadata.name };
  const port = app.spec.port ?? 8080;
  return {
    deployment: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: app.metadata.name, labels },
      spec: {
        replicas: app.spec.replicas ?? environment.replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "app", image: app.spec.image, ports: [{ containerPort: port }] }] },
        },
      },
    },
    service: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: app.metadata.name, labels },
      spec: { selector: labels, ports: [{ port: 80, targetPort: port }] },
    },
  };
}

/** isAvailable reports whether a Deployment has the condition Available. */
function isAvailable(deployment: unknown): boolean {
  const status = (deployment as { status?: { conditions?: { type: string; status: string }[] } } | undefined)?.status;
  return status?.conditions?.some((c) => c.type === "Available" && c.status === "True") ?? false;
}
