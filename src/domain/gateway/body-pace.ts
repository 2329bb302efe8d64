/** How fast a client has to send a body or to read an answer. */
export interface Pace {
  /** Milliseconds without a byte that are too slow; all in all, so many are always allowed. */
  readonly silentMs: number;
  /** Bytes that buy it another millisecond. */
  readonly bytesPerMs: number;
  /** Milliseconds after which it is too slow in any case. */
  readonly mostMs: number;
}

/** kube-apiserver ends a request after 60 s (`--request-timeout`), whatever it is waiting for. */
const requestTimeoutMs = 60_000;

/** The pace of a request's body: 16 KiB a second after 10 s. */
export const bodyPace: Pace = { silentMs: 10_000, bytesPerMs: 16.384, mostMs: requestTimeoutMs };

/** The pace of a body for a backend: each byte buys 30 s, so only silence is too slow. */
export const streamPace: Pace = { silentMs: 30_000, bytesPerMs: 1 / 30_000, mostMs: Infinity };

/** The pace of reading an answer: 16 KiB a second after 60 s. */
export const answerPace: Pace = { silentMs: 60_000, bytesPerMs: 16.384, mostMs: Infinity };

/** How long a client may make the gateway wait now, which has moved bytes and taken time before. */
export function patienceMs(
  { silentMs, bytesPerMs, mostMs }: Pace,
  { bytes, waitedMs }: { readonly bytes: number; readonly waitedMs: number },
): number {
  const allInAll = Math.min(mostMs, silentMs + bytes / bytesPerMs);
  return Math.max(0, Math.min(silentMs, allInAll - waitedMs));
}
