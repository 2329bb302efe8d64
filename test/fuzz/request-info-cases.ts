import { words } from "./request-words.ts";

/** Paths below the mount of the central cluster, which the gateway accepts. */
const understoodPaths = words(`
  / /api /api/ /apis /apis/ /version /healthz /livez/etcd /openapi/v2 /openapi/v3/apis/apps/v1
  /.well-known/openid-configuration /logs/a /api/v1 /api/v1/ /apis/apps /apis/apps/v1
  /apis/apps/v1/ /API/v1/pods /api/v1/pods /api/v1/pods/ /api/v1/pods/p /api/v1/pods/p/
  /api/v1/pods/p/log /api/v1/namespaces /api/v1/namespaces/ /api/v1/namespaces/n
  /api/v1/namespaces/n/ /api/v1/namespaces/n/status /api/v1/namespaces/n/finalize
  /api/v1/namespaces/n/x /api/v1/namespaces/n/status/x /api/v1/namespaces/n/finalize/x/y
  /api/v1/namespaces/n/pods /api/v1/namespaces/n/pods/p /api/v1/namespaces/n/pods/p/exec
  /api/v1/namespaces/n/pods/p/a/b /api/v1/namespaces/n/namespaces/m
  /api/v1/namespaces/namespaces/namespaces/namespaces /api/v1/namespaces/n/watch
  /api/v1/namespaces/n/watch/x /api/v1/pods/p/watch /api/v1/watch/pods /api/v1/watch/pods/p
  /api/v1/watch/pods/p/log /api/v1/watch/watch /api/v1/watch/namespaces /api/v1/watch/namespaces/n
  /api/v1/watch/namespaces/n/pods /api/v1/watch/namespaces/n/pods/p
  /api/v1/watch/namespaces/n/status /api/v1/proxy/pods /api/v1/proxy/pods/p/x
  /api/v1/proxy/namespaces/n/pods/p/x/y /api/v1/proxy/watch /api/v1/proxy/namespaces/n
  /api/v1/proxy/namespaces/n/status/x /api/v1/nodes/n/proxy /api/v1/nodes/n/proxy/
  /api/v1/nodes/n/proxy/a//b /api/v1/namespaces/n/pods/p/proxy/a%2Fb
  /api/v1/namespaces/n/services/https:s:1/proxy/a /api/watch/pods /api/watch/pods/p
  /apis/watch/v1/pods /apis/apps/watch/deployments /apis/apps/v1/deployments
  /apis/apps/v1/deployments/d/scale /apis/apps/v1/watch/x
  /apis/apps/v1/namespaces/n/deployments/d/scale /apis/apps/v1/proxy/namespaces/n/x/y/z
  /apis/management.service/v1/sharedsecrets /apis/management.service/v1/sharedsecrets/s
  /apis/management.service/v1/namespaces//sharedsecrets/s /apis/api/v1/pods /api/apis/v1
  /api/v1/p%6fds /%61pi/v1/pods /api/v1/pods/a%20b /api/v1/pods/%C3%BC /api/v1/%25
  /api/v1/pods/a+b /api/v1/pods/a:b@c /api/v1/pods/... /api/v1/~ /api/v1/pods/%3F
  /api/v1/%6eamespaces/n/pods /api/v1/w%61tch/pods /api/v1/pods/%23 /apis/a%20b/v1/x
`);

/** Queries of a list, which the gateway accepts. */
const understoodQueries = words(`
  ? ?watch ?watch= ?watch=1 ?watch=0 ?watch=true ?watch=FALSE ?watch=fAlSe ?watch=no ?watch=00
  ?Watch=1 ?w%61tch=1 ?+watch=1 ?watch+=1 ?x=1&watch=1 ?watch=1&limit=x ?limit=x ?= ?&&
  ?a=b=c&watch=1 ?watch%3D1 ?a=?&watch=1 ?fieldSelector= ?fieldSelector
  ?fieldSelector=metadata.name%3Dp ?fieldSelector=,, ?fieldSelector=metadata.name=p
  ?fieldSelector=metadata.name==p ?fieldSelector=metadata.name!=p ?fieldSelector=metadata.name=
  ?fieldSelector=metadata.name=. ?fieldSelector=metadata.name=.. ?fieldSelector=metadata.name=...
  ?fieldSelector=metadata.name=a%2Fb ?fieldSelector=metadata.name=a%25b
  ?fieldSelector=metadata.name=a%5C,b ?fieldSelector=metadata.name=a%5C=b
  ?fieldSelector=metadata.name=a%5C%5C ?fieldSelector=metadata.name=a+b
  ?fieldSelector=+metadata.name=p ?fieldSelector=metadata.name+=p
  ?fieldSelector=metadata.name=p,status.phase=x ?fieldSelector=status.phase!=x,metadata.name=p
  ?fieldSelector=metadata.name=p,metadata.name!=q ?fieldSelector=metadata.namespace=n
  ?fieldSelector=metadata.name=p&watch=1 ?f%69eldSelector=metadata.name=p
  ?fieldselector=metadata.name=p ?fieldSelector=metadata.name=p&limit=500
  ?fieldSelector=metadata.name=p&limit=0 ?fieldSelector=metadata.name=p&limit=1&limit=x
  ?fieldSelector=metadata.name=p&timeoutSeconds=9 ?fieldSelector=metadata.name=p&labelSelector=
  ?fieldSelector=metadata.name=p&labelSelector=a ?fieldSelector=metadata.name=p&labelSelector=!a
  ?fieldSelector=metadata.name=p&labelSelector=a=b,c!=d
  ?fieldSelector=metadata.name=p&labelSelector=a+in+(b,c)
  ?fieldSelector=metadata.name=p&labelSelector=x.y/a
  ?fieldSelector=metadata.name=p&labelSelector=in+in+(in)
  ?fieldSelector=metadata.name=p&resourceVersion=x
  ?fieldSelector=metadata.name=p&allowWatchBookmarks=x&sendInitialEvents=y ?labelSelector=a+b+c
`);

/** Targets below the mount that the gateway rejects. */
const refusedPaths = words(`
  /api/v1/watch/ // /api//v1/pods /api/v1//pods /api/v1/pods// /api/v1/namespaces//pods /./api
  /../api /api/v1/pods/.. /api/v1/pods/. /api/v1/%2e%2e/pods /api/v1/%2E/pods /api/v1/pods/a%2Fb
  /api/v1/pods/a%2fb /api/v1/pods/%5c /api/v1/pods/%00 /a\\b /a#b /api/v1/pods/%0a
  /api/v1/pods/%7f /api/v1/pods/% /api/v1/pods/%2 /api/v1/pods/%zz /api/v1/pods/%ff
  /api/v1/pods/%c0%af /api/v1/pods/%ed%a0%80 /api/v1/ü /api/v1/watch /api/v1/proxy
  /apis/apps/v1/watch /api/watch/watch /apis/a/b/proxy/ /api/v1/pods?watch=1&watch=0
  /api/v1/pods?watch=1&w%61tch=0 /api/v1/pods?watch=fal%C5%BFe /api/v1/pods?watch=%ff
  /api/v1/pods?a=1;watch=1 /api/v1/pods?watch=% /api/v1/pods?watch=1#
  /api/v1/pods?fieldSelector=metadata.name /api/v1/pods?fieldSelector=a=b=c
  /api/v1/pods?fieldSelector=metadata.name=p&fieldSelector= /api/v1/pods?fieldSelector=%ff=a
  /api/v1/pods?fieldSelector=metadata.name=p,metadata.name=p /api/v1/pods?fieldSelector=a=%5Cx
  /api/v1/pods?fieldSelector=metadata.name=p&limit=x
  /api/v1/pods?fieldSelector=metadata.name=p&limit=
  /api/v1/pods?fieldSelector=metadata.name=p&timeoutSeconds=1.5 /api/v1/nodes/n/proxy/../a
  /api/v1/pods?fieldSelector=metadata.name=p&labelSelector=a+b /api/v1/nodes/n/proxy/%2e%2e
`);

const mount = "/kubernetes/management";

/** Targets that the gateway reads as kube-apiserver does, with every method. */
export const understoodTargets: readonly string[] = [
  ...["", ...understoodPaths].map((path) => mount + path),
  ...understoodQueries.map((query) => `${mount}/api/v1/pods${query}`),
];

/** Targets that the gateway rejects, because two programs could read them in two ways. */
export const refusedTargets: readonly string[] = [
  ...["", "*", "api/v1/pods", "http://host/api/v1/pods", "//host/api/v1/pods", "?watch=1"],
  ...refusedPaths.map((path) => mount + path),
  `${mount}/api/v1/a b`,
  `${mount}/api/v1/pods?fieldSelector=metadata.name=p${"&".repeat(10_000)}`,
];
