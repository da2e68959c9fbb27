/** Every promise of the cluster port as cases that any test runner can run; see {@link ConformanceCase}. */
import type { Crypto } from "../crypto/crypto.ts";
import { clusterCallCases } from "./cluster-call-cases.ts";
import { clusterPipeCases } from "./cluster-pipe-cases.ts";
import { withCluster, type CreateClusterUnderTest } from "./cluster-scene.ts";
import type { ConformanceCase } from "./conformance.ts";

/**
 * The cases that every cluster passes: at least one for each numbered promise of the `Cluster` port.
 *
 * Each case makes members of its own and stops them. `needs` names what a cluster under test may lack: "peers" (there are two members),
 * "cut" (the test can cut them off from each other) or "isolate" (it can take one off from what joins them).
 *
 * @param create - Makes members for each case, not yet started.
 * @param crypto - The cryptography that members are started with.
 */
export function clusterConformance(create: CreateClusterUnderTest, crypto: Crypto): ConformanceCase[] {
  return [...clusterCallCases, ...clusterPipeCases].map(({ test, ...described }) => ({
    ...described,
    run: () => withCluster(create, crypto, test),
  }));
}
