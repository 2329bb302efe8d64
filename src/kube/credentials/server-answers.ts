/** What became of a request to an API server, as far as it says something about the server. */
export type ServerAnswer =
  | { readonly kind: "accepted" }
  /** It answered, and this process does not believe it, or it does not believe this process. */
  | { readonly kind: "refused"; readonly cause: string }
  /** No answer arrived. */
  | { readonly kind: "silent"; readonly cause: string };

/** What an API server did since it last accepted a request; monotonic instants in milliseconds. */
export interface ServerRecord {
  /** Refusals without a gap of {@link longestGapMs}; undefined if the last request was accepted. */
  readonly refused?: { readonly cause: string; readonly since: number; readonly last: number };
  /** Undefined if the last request had an answer. */
  readonly silent?: { readonly cause: string; readonly since: number };
}

/** Every process sends more requests than one in this time while none is accepted. */
const longestGapMs = 20_000;
/** One failed request, or two, say nothing about the server. */
const silenceMs = 10_000;
/** As long as a cache is trusted without a proof that it is current. */
const unreadyMs = 30_000;
const restartMs = 120_000;

const noRecord: ServerRecord = {};

/** The record after an answer at `now`. */
export function afterAnswer(record: ServerRecord, answer: ServerAnswer, now: number): ServerRecord {
  const { refused, silent } = record;
  switch (answer.kind) {
    case "accepted":
      return noRecord;
    case "silent":
      return { ...record, silent: { cause: answer.cause, since: silent?.since ?? now } };
    case "refused": {
      const goesOn = refused !== undefined && now - refused.last <= longestGapMs;
      const since = goesOn ? refused.since : now;
      return { refused: { cause: answer.cause, since, last: now } };
    }
  }
}

/**
 * The problem of a server at `now`, in one sentence, and whether the process cannot serve for it;
 * undefined while there is none. Silence alone makes nothing unready here: the caches of a process
 * know how long they can do without the server.
 */
export function serverProblem(
  { refused, silent }: ServerRecord,
  server: string,
  now: number,
): { readonly text: string; readonly isUnready: boolean } | undefined {
  const seconds = (since: number): number => Math.floor((now - since) / 1000);
  if (refused !== undefined && now - refused.last <= longestGapMs) {
    const text = `${server} has served no request for ${seconds(refused.since)} s`;
    return { text: `${text}: ${refused.cause}`, isUnready: now - refused.since >= unreadyMs };
  }
  if (silent === undefined || now - silent.since < silenceMs) return undefined;
  const text = `no answer from ${server} for ${seconds(silent.since)} s: ${silent.cause}`;
  return { text, isUnready: false };
}

/** The files of a process that decide whether its API server accepts it. */
interface DecidingFiles {
  /** Why they cannot be used as they are; a restart could not use them either. */
  readonly problem: string | undefined;
  /** When their content last changed, in monotonic milliseconds. */
  readonly changedAt: number;
}

/**
 * Whether only another process may be accepted: the server has answered with nothing but refusals
 * for two minutes, in which the files were read again, and did not change. Silence is never a
 * reason: a restart would lose what is in memory, and not reach the server either.
 */
export function needsRestart(
  { refused }: ServerRecord,
  files: DecidingFiles,
  now: number,
): boolean {
  if (refused === undefined || files.problem !== undefined) return false;
  const since = Math.max(refused.since, files.changedAt);
  return now - refused.last <= longestGapMs && refused.last - since >= restartMs;
}

/** How codes of Node and OpenSSL begin for a certificate of a server that is not accepted. */
const certificateCodes = [
  ...["CERT_", "CRL_", "UNABLE_TO_", "DEPTH_ZERO_", "SELF_SIGNED_", "ERR_TLS_CERT_"],
  ...["HOSTNAME_MISMATCH", "INVALID_CA", "INVALID_PURPOSE", "PATH_LENGTH_EXCEEDED"],
] as const;

/** The answer that a status is: any but 401 accepts the credential. */
export function answerOfStatus(status: number): ServerAnswer {
  return status === 401
    ? { kind: "refused", cause: "it rejects the credential of this process (401)" }
    : { kind: "accepted" };
}

/** The answer that a failure is, by its code; `problem` is what a log says of it. */
export function answerOfFailure(code: string | undefined, problem: string): ServerAnswer {
  return certificateCodes.some((begin) => code?.startsWith(begin))
    ? { kind: "refused", cause: `its certificate cannot be verified (${code})` }
    : { kind: "silent", cause: problem };
}
