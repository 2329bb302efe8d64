import type { Clock } from "../runtime/clock.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";

/**
 * What this leader knows of an object that is being deleted; instants are monotonic milliseconds.
 */
export interface Deletion {
  readonly seenAt: number;
  /** When the last grant was deleted; undefined while a grant exists. */
  readonly grantsGoneAt: number | undefined;
  /** Whether this leader has observed a grant. */
  readonly hadGrants: boolean;
  /** The subjects of its bindings. */
  readonly grantees: readonly FormerGrantee[];
}

/**
 * Tracks the objects that are being deleted, by uid. A new leader starts without them, which only
 * delays their deletion.
 */
export class Deletions {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new Map<string, Deletion>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /**
   * The monotonic instant at which the deletion of this object was first observed: now, if this is
   * the first time.
   */
  seenAt(uid: string): number {
    return this.#get(uid).seenAt;
  }

  /** Records whether grants of an object exist, and returns what is known of its deletion. */
  note(
    uid: string,
    { stand, grantees }: { readonly stand: boolean; readonly grantees: readonly FormerGrantee[] },
  ): Deletion {
    const before = this.#get(uid);
    const met = new Set(grantees.map(({ allowedBy }) => allowedBy));
    const deletion = {
      seenAt: before.seenAt,
      grantsGoneAt: stand ? undefined : (before.grantsGoneAt ?? this.#clock.monotonic()),
      hadGrants: before.hadGrants || stand,
      grantees: [...before.grantees.filter(({ allowedBy }) => !met.has(allowedBy)), ...grantees],
    };
    this.#known.set(uid, deletion);
    return deletion;
  }

  /** Forgets an object that no longer exists. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  #get(uid: string): Deletion {
    const known = this.#known.get(uid) ?? {
      seenAt: this.#clock.monotonic(),
      grantsGoneAt: undefined,
      hadGrants: false,
      grantees: [],
    };
    this.#known.set(uid, known);
    return known;
  }
}
