// StopSignal: SIGTERM and SIGINT as a request to stop gracefully. bin/kapstan.js installs it before anything else is loaded,
// so it imports nothing.

export interface StopSignal {
  /** Resolves with the first signal. */
  readonly received: Promise<NodeJS.Signals>;
  /** Aborts with the first signal. */
  readonly signal: AbortSignal;
  /** Id of the parent process when the handlers were installed. */
  readonly parent: number;
  /** Removes the handlers. */
  ignore(): void;
}

/** The first signal stops the server gracefully; a second one ends the process at once. */
export function listenForStop(): StopSignal {
  const names = ['SIGTERM', 'SIGINT'] as const;
  const controller = new AbortController();
  let settle: (name: NodeJS.Signals) => void = () => undefined;
  const received = new Promise<NodeJS.Signals>((resolve) => {
    settle = resolve;
  });
  const listener = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort(new Error(`stopped by ${name}`));
    settle(name);
  };
  for (const name of names) process.on(name, listener);
  return {
    received,
    signal: controller.signal,
    parent: process.ppid,
    ignore: () => {
      for (const name of names) process.off(name, listener);
    },
  };
}
