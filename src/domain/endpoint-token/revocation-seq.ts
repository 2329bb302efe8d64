/**
 * The place of a deny list among all of them, `<epoch>.<n>` in text. The epoch is raised after a
 * restore of the central cluster, whose `n` may then be that of an earlier list.
 */
export interface RevocationSeq {
  readonly epoch: number;
  readonly n: number;
}

/** How a list relates to the list in use. */
export type SeqOrder = "newer" | "same" | "older";

/** At most 15 digits, which a number holds exactly. */
const form = /^(0|[1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,14})$/;

/** Parses `<epoch>.<n>`; undefined for any other text, leading zeros included. */
export function parseRevocationSeq(text: string): RevocationSeq | undefined {
  const match = form.exec(text);
  return match === null ? undefined : { epoch: Number(match[1]), n: Number(match[2]) };
}

/** The seq as text; the inverse of {@link parseRevocationSeq}. */
export function revocationSeqText({ epoch, n }: RevocationSeq): string {
  return `${epoch}.${n}`;
}

/**
 * Whether a list replaces the list in use: only a newer list does. A higher epoch is newer with any
 * `n`. The same list is ignored, without comparing the entries: it is the answer to a poll without
 * a change. So the central cluster takes a new seq for each list that it signs with other
 * entries or with another key. An older list is refused: it is replayed, or the central cluster
 * was restored.
 */
export function seqOrder(current: RevocationSeq | undefined, candidate: RevocationSeq): SeqOrder {
  if (current === undefined) return "newer";
  const ahead = candidate.epoch - current.epoch || candidate.n - current.n;
  return ahead > 0 ? "newer" : ahead === 0 ? "same" : "older";
}
