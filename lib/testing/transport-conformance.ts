/** Every promise of the transport port as cases that any test runner can run; see {@link ConformanceCase}. */
import type { Crypto } from "../crypto/crypto.ts";
import type { ConformanceCase } from "./conformance.ts";
import { transportAccessCases } from "./transport-access-cases.ts";
import { transportDeliveryCases } from "./transport-delivery-cases.ts";
import { transportEndingCases } from "./transport-ending-cases.ts";
import { withTransport, type CreateTransportUnderTest } from "./transport-scene.ts";
import { transportTakeoverCases } from "./transport-takeover-cases.ts";

/**
 * The cases of the transport port.
 *
 * @param create - Makes a fresh transport for each case. Connections must be real ones of that transport, on loopback at most.
 * @param crypto - The cryptography that both sides use.
 */
export function transportConformance(create: CreateTransportUnderTest, crypto: Crypto): ConformanceCase[] {
  const cases = [
    ...transportAccessCases,
    ...transportTakeoverCases,
    ...transportDeliveryCases,
    ...transportEndingCases,
  ];
  return cases.map(({ promise, name, test }) => ({
    promise,
    name,
    run: () => withTransport(create, crypto, test),
  }));
}
