/**
 * The digests of Latchkey's policies in each version that ships one that is strict enough. Written
 * by npm run policy-digests; clusters may still have those of a former version after an upgrade.
 */
export const shippedPolicies = {
  "latchkey-access-change": {
    "0.1.0": "cb7a4a598c235d1be14265b140ddbb6fecb331c52d3a6ff54a663c12e1e8ed51",
  },
  "latchkey-cluster-share": {
    "0.1.0": "07611d2370b6201a1e35aac95beb67b4a63421cba28c161040dc1cfb8255f9c7",
  },
  "latchkey-data-from": {
    "0.1.0": "5f5b3a4295ce71097b008e78f159d07cc3070d1e2076279d47451f68dff7851c",
  },
  "latchkey-deletion-guard": {
    "0.1.0": "eeb50769ac53a2d553363c559154400212ff5dea993b531f253f84a5d891b54c",
  },
  "latchkey-derived-credentials": {
    "0.1.0": "d6af4a82aa0b71ab8823d719de44dd9572547ff0a59ebe990566a4d70af1b310",
  },
  "latchkey-mint-guard": {
    "0.1.0": "4dc480dd2497752be61a770936dfa417da11353fffc4d0bae9a7df097d68e359",
  },
  "latchkey-object-bounds": {
    "0.1.0": "9b265fec432b1ded32936f5caa2da8740f37729f1d16480495fa586aaf714ddf",
  },
  "latchkey-outbox": {
    "0.1.0": "4d72d0fb8aef8760bdad08809263a461d9073a0ed9ba42d4869e8ee75cd64ddc",
  },
  "latchkey-outbox-namespace": {
    "0.1.0": "a33ac36b6499445cb451600557eb6b270056ff4c8a8e44b3cb045763a0cef415",
  },
  "latchkey-own-rbac": {
    "0.1.0": "b8b3813af40d30895ba78218d8d3e0b2fb0b2b3044231f6e69dff578056d0952",
  },
  "latchkey-own-secrets": {
    "before 0.1.0": "4126182b60769ad42a04419ca48b9d6b97561df348b4ef174979bb107dd3fb40",
    "0.1.0": "df65ec4414c95fe20fb7d9e7473cbce17bad9f371ae77739bc7d295edc7b3e58",
  },
  "latchkey-own-webhook-configurations": {
    "0.1.0": "2e147460dca77ce4f11f3f3fc01e38532407a6f2fb43afbaaf2641100da30350",
  },
  "latchkey-project-assignment": {
    "0.1.0": "9f77903312b6b6540da4a15e210cc9ce4bca4f9b14a3eb0cae69d9ae27df4bff",
  },
  "latchkey-project-share": {
    "0.1.0": "cfcf654324c3c1edec2f290eb68ce32e5b4a4cc1c276555bef86c509cad9c324",
  },
  "latchkey-requester-annotations": {
    "0.1.0": "0a958bc54904a944d52abc10ca3a0531b7da1e801dc71e310088894aa9732ccc",
  },
  "latchkey-requester-lock": {
    "0.1.0": "17fb7682b1fcb91c79d21655823dc003b70f9637b683f14fef244f352a2fd169",
  },
  "latchkey-scope-bounds": {
    "0.1.0": "0ac6ce6a6a0a6e02fa5b228d7c7b6429d65ecf7b8ef800772db80c652e543ea8",
  },
  "latchkey-scope-wildcards": {
    "0.1.0": "455593c4c56bcddcba15062a89dc9cc98c341cfef197fe0495fa1d94a5043269",
  },
  "latchkey-status-lock": {
    "0.1.0": "862a490910751dc8c52603408252b955307bbcf31611a0a5c9f256aa370c56a1",
  },
  "latchkey-sync-from": {
    "0.1.0": "70a0ad449a203499ecc5d053f4cfbc4af13eca3476df4583a736af37df9a9cb4",
  },
  "latchkey-token-audience": {
    "0.1.0": "421f7effbd5c68394ffd3171aca207026bdf19b3d1b46b89490c2809ed073487",
  },
} as const;
