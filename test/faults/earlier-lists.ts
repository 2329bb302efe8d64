import { listAt } from "../../src/api/parse.ts";
import type { ApiRequest } from "../support/api-request.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { isVisible, type View } from "../support/visible-objects.ts";

/** Records lists, for faults that return them later. */
export class EarlierLists {
  readonly #cluster: ProxiedCluster;
  readonly #view: View;
  readonly #requests = new Map<string, ApiRequest>();
  readonly #lists = new Map<string, string>();

  constructor(cluster: ProxiedCluster, view: View) {
    this.#cluster = cluster;
    this.#view = view;
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
    const items = listAt(list, "items").filter((item) =>
      isVisible(this.#view, request.plural, item),
    );
    this.#lists.set(request.selection, JSON.stringify({ ...list, items }));
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
