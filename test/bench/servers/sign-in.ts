/** Signs a key in, as the bench's client. */
import { toHex, type Orchestrator, type Signer } from "fleetwright";

/** Resolves with the token of a session. */
export async function signIn(orchestrator: Orchestrator, admin: Signer): Promise<string> {
  const caller = { kind: "anonymous" } as const;
  const challenge = await orchestrator.access.challenge(caller, { public_key: toHex(admin.publicKey) });
  const signature = toHex(admin.sign(new TextEncoder().encode(challenge.message)));
  const { challenge_id } = challenge;
  return (await orchestrator.access.verify(caller, { challenge_id, signature })).token;
}
