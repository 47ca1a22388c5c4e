export interface QueueSpec {
  fifo: boolean;
}

export function compose(spec: QueueSpec): Record<string, string> {
  return { suffix: spec.fifo ? ".fifo" : "" };
}
