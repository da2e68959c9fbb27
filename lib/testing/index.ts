/** What tests of the package, of its drivers and of programs that embed it need. */
export { FakeClock } from "./fake-clock.ts";
export { createTestOrchestrator } from "./test-orchestrator.ts";
export type { SignedIn, TestOrchestrator } from "./test-orchestrator.ts";

export { MemoryNetwork } from "./memory-network.ts";

// What every implementation of a port must pass
export type { ConformanceCase } from "./conformance.ts";
export { storageConformance } from "./storage-conformance.ts";
export type { CreateStorage, StorageSubject } from "./storage-conformance.ts";
export { transportConformance } from "./transport-conformance.ts";
export type { CreateTransportUnderTest, TransportUnderTest } from "./transport-scene.ts";
export { clusterConformance } from "./cluster-conformance.ts";
export type { ClusterUnderTest, CreateClusterUnderTest } from "./cluster-scene.ts";
export { MemoryCluster } from "./memory-cluster.ts";
export type { MemoryClusterOptions } from "./memory-cluster.ts";
export { createSocketPair } from "../transport/memory-socket.ts";
export { hostConformance } from "./host-conformance.ts";
export type { HostUnderTest } from "./host-subject.ts";
export { channelConformance } from "./channel-conformance.ts";
export type { ChannelReceiver, ChannelUnderTest, ReceiverAnswer } from "./channel-scene.ts";
export { MemoryHost } from "../host/memory-host.ts";
export type { MemoryFiles } from "../host/memory-files.ts";
export type { HostWrite, MemoryDownload, MemoryHostOptions, MemoryProgram } from "../host/memory-host.ts";
export { lawFolder, resourceLaws } from "./resource-laws.ts";
export type { LawCase, LawSubject } from "./resource-laws.ts";
