import type { ApiRequest } from "../support/api-request.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** Records lists, for faults that return them later. */
export class EarlierLists {
  readonly #cluster: ProxiedCluster;
  readonly #requests = new Map<string, ApiRequest>();
  readonly #lists = new Map<string, string>();

  constructor(cluster: ProxiedCluster) {
    this.#cluster = cluster;
  }

  /** Adds a list to the recorded ones. */
  add(request: ApiRequest): void {
    if (asksForVersion(request)) return;
    this.#requests.set(request.selection, request);
  }

  /** Records the current results of all lists that were requested. */
  async record(): Promise<void> {
    await Promise.all([...this.#requests.values()].map((request) => this.#record(request)));
  }

  /** Takes a recorded list: it is returned once. */
  take(request: ApiRequest): string | undefined {
    if (asksForVersion(request)) return undefined;
    const { selection } = request;
    const list = this.#lists.get(selection);
    this.#lists.delete(selection);
    return list;
  }

  async #record(request: ApiRequest): Promise<void> {
    const path = request.isStreamed ? pathOfList(request.path) : request.path;
    const list = await this.#cluster.arrange({ method: "GET", path });
    this.#lists.set(request.selection, JSON.stringify(list));
  }
}

/** Whether an informer only asks for the version of a collection, by a list of one object. */
function asksForVersion({ path }: ApiRequest): boolean {
  return new URL(path, "http://proxy").searchParams.get("limit") === "1";
}

/** The same list as a single response. */
function pathOfList(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://proxy");
  for (const parameter of [
    "watch",
    "sendInitialEvents",
    "resourceVersionMatch",
    "allowWatchBookmarks",
    "timeoutSeconds",
  ])
    searchParams.delete(parameter);
  return `${pathname}?${searchParams.toString()}`;
}
