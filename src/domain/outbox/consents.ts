import type { Source } from "../sync/copy.ts";
import { sourceObstacle } from "../sync/obstacles.ts";
import { fitsAny } from "../sync/sync-options.ts";

/** A connected cluster, as its Secret in the central cluster describes it. */
export interface ConnectedCluster {
  readonly name: string;
  /** The uid of that Secret: a cluster that is connected anew is another one. */
  readonly uid: string;
  /** The projects that its administrator lets in; `*` for all of them. */
  readonly projects: readonly string[];
}

/** Why a connected cluster gets nothing of a source. */
type ClusterObstacle =
  | "source-deleting"
  | "source-invalid"
  | "source-not-allowed"
  | "no-project-named"
  | "cluster-not-named"
  | "projects-not-let-in";

/** What the central cluster offers a connected cluster of a source. */
export type Offer =
  /** Names or globs of projects that both the source and the cluster consent to. */
  | { readonly kind: "offered"; readonly projects: readonly string[] }
  | { readonly kind: "withheld"; readonly obstacle: ClusterObstacle };

/** Whether a source names a connected cluster. */
export function namesCluster({ options }: Source, cluster: string): boolean {
  return options.clusters.includes("*") || options.clusters.includes(cluster);
}

/** What a connected cluster is offered of a source: the first obstacle, or the projects. */
export function offerTo(source: Source, cluster: ConnectedCluster): Offer {
  const obstacle = sourceObstacle(source);
  if (obstacle !== undefined && obstacle !== "not-offered") return withheld(obstacle);
  if (!namesCluster(source, cluster.name)) return withheld("cluster-not-named");
  if (obstacle === "not-offered") return withheld("no-project-named");
  const projects = commonProjects(source.options.projects, cluster.projects);
  return projects.length === 0 ? withheld("projects-not-let-in") : { kind: "offered", projects };
}

/**
 * Whether a source certainly offers a cluster nothing, also if it is only invalid: an invalid list
 * might still name the cluster or the project, so what the cluster has stays.
 */
export function isWithdrawn(source: Source, cluster: ConnectedCluster): boolean {
  const offer = offerTo(source, cluster);
  if (offer.kind === "offered") return false;
  if (offer.obstacle !== "source-invalid") return true;
  const { options } = source;
  const mayName = options.clustersAreUnreadable === true || namesCluster(source, cluster.name);
  const mayReach =
    options.projectsAreUnreadable === true ||
    commonProjects(options.projects, cluster.projects).length > 0;
  return !mayName || !mayReach;
}

/** The projects that match globs of a source and are let in. */
function commonProjects(globs: readonly string[], letIn: readonly string[]): readonly string[] {
  return letIn.includes("*") ? globs : letIn.filter((project) => fitsAny(project, globs));
}

function withheld(obstacle: ClusterObstacle): Offer {
  return { kind: "withheld", obstacle };
}
