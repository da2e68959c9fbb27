/** The figures of the protocol, once. Changing one changes what both sides accept. */

/** Versions this package speaks, best first. */
export const supportedVersions: readonly number[] = [3, 2, 1];
/** From this version on both sides tell the epoch: the agent the one that it follows, the orchestrator its own. */
export const epochVersion = 2;
/** From this version on an agent may bring an enrolment token. One that has none does not offer it. */
export const tokenVersion = 3;
/** The versions that a side speaks, best first: who knows no epochs speaks none that has them, nor who has no token one that brings it. */
export function versionsOf(knows: { epochs: boolean; tokens: boolean }): readonly number[] {
  const newest = knows.epochs ? (knows.tokens ? tokenVersion : epochVersion) : epochVersion - 1;
  return supportedVersions.filter((version) => version <= newest);
}

/** The UDP port that agents hear announcements at, and orchestrators send them to. */
export const defaultDiscoveryPort = 4747;

/** Most characters of an enrolment token, as an agent may bring it: one that is none is told apart by the orchestrator, not by the protocol. */
export const maxTokenLength = 256;
/** Largest frame before both sides are proved, bytes. */
export const maxHandshakeFrameBytes = 16 * 1024;
/** Largest frame afterwards, sealed, bytes. */
export const maxFrameBytes = 1024 * 1024;
/** A message whose text is longer travels in pieces of exactly this size and a last one, streams and pings in between, and is parsed in slices. */
export const fragmentBytes = 256 * 1024;
/** Largest message, all pieces together, bytes of text. */
export const maxMessageBytes = 16 * 1024 * 1024;
/** Levels of lists and objects in a message. */
export const maxJsonDepth = 64;
/** Members of one list or object in a message. */
export const maxContainerMembers = 50_000;
/** Bytes between two places where such a message is cut, at least. */
export const cutBytes = 64 * 1024;
/** Most bytes of such a message without a place to cut it: of blanks, a number or the name of a member. Texts are cut anywhere. */
export const maxUncutBytes = 1024 * 1024;
/** Bytes that sealing adds to a frame: the kind and the tag. */
export const sealOverheadBytes = 17;
/** What a ping takes, sealed, bytes; nothing else that a peer may say is as short. */
export const pingFrameBytes = 17;
/** Most data in one stream frame, bytes: what a frame holds beside the stream's id. */
export const maxStreamBytes = maxFrameBytes - sealOverheadBytes - 16;
/** How often each side sends a ping, milliseconds. */
export const heartbeatIntervalMs = 15_000;
/** A peer that was not heard for so long is gone, milliseconds. */
export const silenceLimitMs = 45_000;
/** How long a handshake may take, the decision about the agent included, milliseconds. */
export const handshakeTimeoutMs = 10_000;
