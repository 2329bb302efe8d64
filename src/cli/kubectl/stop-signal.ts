/** The part of a process that ends a command which would run forever. */
interface StoppableProcess {
  on(event: StopEvent, listener: () => void): unknown;
  readonly stdout: { once(event: "error" | "close", listener: () => void): unknown };
}

const stopEvents = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type StopEvent = (typeof stopEvents)[number];

/**
 * Aborts at SIGINT, SIGTERM and SIGHUP, and when the reader of the standard output, such as head, has
 * enough. A second signal ends the process at once.
 */
export function stopSignal(process: StoppableProcess, exit: (code: number) => void): AbortSignal {
  const stop = new AbortController();
  for (const event of stopEvents)
    process.on(event, () => {
      if (stop.signal.aborted) exit(1);
      stop.abort();
    });
  for (const event of ["error", "close"] as const) process.stdout.once(event, () => stop.abort());
  return stop.signal;
}
