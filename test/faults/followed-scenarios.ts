import { annotations } from "../../src/api/names.ts";
import { type Action, create, gone, merge, remove, type Step } from "../support/actions.ts";
import type { View } from "../support/visible-objects.ts";
import type { Scenario } from "./scenario.ts";
import {
  asking,
  data,
  db,
  inProject,
  namespace,
  placeholder,
  sharedSecret,
  to,
} from "./scenario-objects.ts";

const secrets = ({ prefix }: View) => `/api/v1/namespaces/${prefix}home/secrets`;
const secret = (view: View) => `${secrets(view)}/source`;
const forDb = { [annotations.dataFor]: "other, db" };
const readers = { name: "readers", verbs: ["get"], teams: ["devs"] };

/** Creates the Secret that `db` follows, with the consent of its owner or without. */
const supply = (
  view: View,
  text: string,
  consent: Readonly<Record<string, string>> = forDb,
): Action =>
  create(secrets(view), { metadata: { name: "source", annotations: consent }, ...data(text) });

const consents = (view: View, dataFor: string | null): Step => [
  merge(secret(view), { metadata: { annotations: { [annotations.dataFor]: dataFor } } }),
];

/** Creates `db`, which follows the Secret and syncs to a project. */
const follow = (view: View, spec: object = {}): Action => {
  const { annotations: synced } = to(`${view.prefix}web, ${view.prefix}pay`);
  return sharedSecret(view, spec, {
    annotations: { ...synced, [annotations.dataFrom]: "source" },
  });
};

const places = (view: View): Step => [namespace(view, "home"), namespace(view, "web", "web")];

/**
 * A Role has another name once the copy for readers exists, so it may be made twice: for the grants
 * alone first, if the Secret is read or copied later than access is granted.
 */
const twice = { of: / the-home\/role for db to get /, creates: 1, deletes: 1 };

/** The ways in which users have a SharedSecret follow a Secret, one at a time. */
export const ofFollowers: readonly Scenario[] = [
  {
    name: "followed: supplied, changed, deleted and supplied again",
    retryAllowance: twice,
    grounds: places,
    changes: (view) => [
      [follow(view, { access: [readers] })],
      [supply(view, "first")],
      [merge(secret(view), data("second"))],
      [remove(secret(view))],
      [supply(view, "third")],
    ],
  },
  {
    name: "followed: the consent of either side is withdrawn",
    retryAllowance: twice,
    grounds: (view) => [...places(view), supply(view, "first")],
    changes: (view) => [
      [follow(view, { access: [readers] })],
      consents(view, null),
      consents(view, "db"),
      [inProject(view, "web", null)],
      [remove(secret(view))],
      [supply(view, "second", {})],
    ],
  },
  {
    name: "followed: a placeholder, and the SharedSecret is deleted",
    grounds: (view) => [
      ...places(view),
      namespace(view, "pay", "pay"),
      placeholder(view, "pay"),
      supply(view, "first"),
    ],
    changes: (view) => [
      [follow(view)],
      [
        merge(asking(view, "pay"), {
          metadata: { annotations: { [annotations.syncKeys]: "user" } },
        }),
      ],
      [merge(secret(view), data("second"))],
      [remove(db(view))],
      [gone(db(view))],
    ],
  },
];
