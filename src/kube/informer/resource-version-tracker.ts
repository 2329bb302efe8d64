import { KubeError } from "../client/kube-error.ts";
import { isOlder } from "./raw-object.ts";

/**
 * Number of consecutive stale lists that indicate a restored backup; fewer may come from a lagging
 * cache.
 */
const believedLists = 3;

/**
 * Tracks the newest resourceVersion of a resource; detects an API server that returns older ones (a
 * restored etcd, a lagging cache).
 */
export class ResourceVersionTracker {
  readonly #plural: string;
  #resourceVersion: string | undefined;
  #earlierLists = 0;

  constructor(plural: string) {
    this.#plural = plural;
  }

  /** The last resourceVersion that was observed; undefined before the first list. */
  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  /** Records the resourceVersion of a watch event. */
  reached(resourceVersion: string | undefined): void {
    this.#resourceVersion = resourceVersion ?? this.#resourceVersion;
  }

  /** Records a bookmark; throws `Gone` if it is older than the last resourceVersion. */
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
    const message =
      `${this.#plural}: resourceVersion ${resourceVersion} is older than ` +
      `${this.#resourceVersion ?? ""}, which was observed before`;
    return new KubeError(message, { code: "Gone", status: 0 });
  }
}
