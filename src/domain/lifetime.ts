import { annotations } from "../api/names.ts";
import type { Annotated, Created } from "../api/object.ts";

const secondMs = 1000;
const dayMs = 24 * 60 * 60 * secondMs;

/** A begin and an end, in milliseconds since the epoch. It is over at `endsAt`. */
export interface Validity {
  readonly startsAt: number;
  readonly endsAt: number;
}

/** A lifetime with an end. */
export interface Lifetime extends Validity {
  /** Whether the configured maximum is shorter than the requested ttl. */
  readonly clamped: boolean;
}

/**
 * The input of a lifetime (specification, Authentication 4); instants in milliseconds, durations in
 * seconds.
 */
interface LifetimeOptions extends RequestedTtl {
  readonly createdAt: number;
  /** The instant from which an idle ttl counts; the creation if undefined. */
  readonly idleSince?: number | undefined;
}

/** A ttl and its maximum, in seconds. */
interface RequestedTtl {
  /** 0 if not set. */
  readonly ttl: number;
  /** 0: no maximum. */
  readonly maximumTtl: number;
}

/**
 * The lifetime for these options; undefined if it does not end. Without a ttl, the maximum counts
 * from creation.
 */
export function lifetimeOf({
  createdAt,
  ttl,
  idleSince,
  maximumTtl,
}: LifetimeOptions): Lifetime | undefined {
  if (ttl > 0) return clampedLifetime(idleSince ?? createdAt, { ttl, maximumTtl });
  return maximumTtl > 0
    ? { ...clampedLifetime(createdAt, { ttl: maximumTtl, maximumTtl }), clamped: true }
    : undefined;
}

/**
 * The lifetime of `ttl` seconds (more than 0) from `startsAt`; at most the maximum, if there is
 * one.
 */
export function clampedLifetime(startsAt: number, { ttl, maximumTtl }: RequestedTtl): Lifetime {
  const seconds = maximumTtl > 0 ? Math.min(ttl, maximumTtl) : ttl;
  return { startsAt, endsAt: startsAt + seconds * secondMs, clamped: seconds < ttl };
}

/** Whether the lifetime is over; one without an end never is. */
export function isOver(lifetime: Pick<Validity, "endsAt"> | undefined, now: number): boolean {
  return lifetime !== undefined && now >= lifetime.endsAt;
}

/**
 * When the last tenth of a lifetime longer than a day begins, in milliseconds since the epoch;
 * undefined for shorter ones.
 */
export function expiringFrom(lifetime: Validity | undefined): number | undefined {
  if (lifetime === undefined) return undefined;
  const length = lifetime.endsAt - lifetime.startsAt;
  return length > dayMs ? lifetime.endsAt - length / 10 : undefined;
}

/**
 * Parses an RFC 3339 timestamp to milliseconds since the epoch; undefined if it is missing or
 * invalid.
 */
export function instantOf(text: string | undefined): number | undefined {
  const instant = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/**
 * When the lifetime of an object began, in milliseconds since the epoch: its creation, or the
 * earlier start in its annotation, so that a restore does not start a new lifetime.
 *
 * The webhook writes the start before the API server sets `metadata.creationTimestamp`, so a start
 * up to a second before the creation is that of the creation itself.
 */
export function lifetimeStart(metadata: Created & Annotated): number {
  const created = createdAt(metadata);
  const recorded = instantOf(metadata.annotations[annotations.createdAt]) ?? Infinity;
  return recorded < created - secondMs ? recorded : created;
}

/**
 * When a lifetime ended before the object was created, in milliseconds since the epoch: a restored
 * object stays expired. Undefined otherwise: an object that expired after its creation becomes
 * valid again if its spec gets a longer ttl.
 */
export function endBeforeCreation(metadata: Created & Annotated): number | undefined {
  const end = instantOf(metadata.annotations[annotations.expiredAt]);
  return end !== undefined && end <= createdAt(metadata) ? end : undefined;
}

/** The lifetime, limited to this end if there is one. */
export function endedBy(
  lifetime: Lifetime | undefined,
  end: number | undefined,
  startsAt: number,
): Lifetime | undefined {
  if (end === undefined || (lifetime !== undefined && lifetime.endsAt <= end)) return lifetime;
  return { startsAt: lifetime?.startsAt ?? startsAt, endsAt: end, clamped: false };
}

/**
 * When an object was created, in milliseconds since the epoch; an invalid timestamp counts as 1970,
 * which makes the object expired.
 */
export function createdAt({ creationTimestamp }: Created): number {
  return instantOf(creationTimestamp) ?? 0;
}

/** A time span in seconds as people say it: `90s`, `15m`, `1h`, `5h30m`, `12d`. */
export function spanText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 172_800) {
    const minutes = Math.floor((whole % 3600) / 60);
    return `${Math.floor(whole / 3600)}h${minutes === 0 ? "" : `${minutes}m`}`;
  }
  return `${Math.floor(whole / 86_400)}d`;
}
