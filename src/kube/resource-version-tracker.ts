import { KubeError } from "./errors.ts";
import { isOlder } from "./raw-object.ts";

/**
 * Number of consecutive stale lists that mean a restored backup; fewer come from a lagging cache.
 */
const believedLists = 3;

/**
 * The newest resourceVersion of a kind; detects that the API server went back (a restored etcd, a
 * lagging cache).
 */
export class ResourceVersionTracker {
  readonly #plural: string;
  #resourceVersion: string | undefined;
  #earlierLists = 0;

  constructor(plural: string) {
    this.#plural = plural;
  }

  /** The last resourceVersion that was seen; undefined before the first list. */
  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  /** An event of the watch. */
  reached(resourceVersion: string | undefined): void {
    this.#resourceVersion = resourceVersion ?? this.#resourceVersion;
  }

  /** A bookmark of the watch; throws `Gone` for one of an earlier time. */
  bookmarked(resourceVersion: string | undefined): void {
    if (isOlder(resourceVersion, this.#resourceVersion)) throw this.#earlier(resourceVersion);
    this.reached(resourceVersion);
  }

  /**
   * Records a list. Returns whether history was reset; throws `Gone` while the list may come from a
   * lagging cache.
   */
  listed(resourceVersion: string): boolean {
    const isEarlier = isOlder(resourceVersion, this.#resourceVersion);
    this.#earlierLists = isEarlier ? this.#earlierLists + 1 : 0;
    if (isEarlier && this.#earlierLists < believedLists) throw this.#earlier(resourceVersion);
    this.#resourceVersion = resourceVersion;
    return isEarlier;
  }

  #earlier(resourceVersion = ""): KubeError {
    const message = `${this.#plural}: resourceVersion ${resourceVersion} is older than ${this.#resourceVersion ?? ""}, which was observed before`;
    return new KubeError(message, { code: "Gone", status: 0 });
  }
}
