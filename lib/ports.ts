/**
 * The ports: `fleetwright/ports`. All that an own storage, transport, cluster, host or type of resource is written with, and nothing
 * that brings the orchestrator along.
 */

// What all of them use
export type { Clock, Timer } from "./clock.ts";
export type { Crypto, KeyPair, Signer } from "./crypto/crypto.ts";
export type { ErrorCode, Issue } from "./errors.ts";
export type { Json, JsonObject } from "./json.ts";
export { canonicalJson } from "./internal/canonical-json.ts";
export { networkOfAddress, sourceOfAddress } from "./internal/network.ts";
export { toSteadyLogger } from "./logger.ts";
export type { LogFields, Logger } from "./logger.ts";

// Storage: the port, and what keeps order, pages and chained logs alike on each
export type {
  AcceptedLosses,
  BlobWriter,
  CollectionDefinition,
  CommitListener,
  CommitOptions,
  CommitResult,
  CommittedChange,
  DocumentPage,
  Lease,
  ListQuery,
  LogDefinition,
  LogEntry,
  LogPage,
  LogPlace,
  LogQuery,
  Restored,
  RestoreNote,
  SamplePoint,
  SampleQuery,
  SampleRow,
  SeriesStorage,
  Storage,
  StorageBackup,
  StorageCapabilities,
  StorageLoss,
  StorageSchema,
  StoredDocument,
  Write,
} from "./storage/storage.ts";
export { readCursor, writeCursor } from "./storage/cursor.ts";
export type { CursorPlace } from "./storage/cursor.ts";
export { chainHash, zeroHash } from "./storage/hash-chain.ts";
export { compareValues, compareWithBound, TypeEdge } from "./storage/order.ts";
export type { OrderValue } from "./storage/order.ts";

// Transport: the port, sockets to hand to a `SocketTransport`, and the protocol for one that is written from the ground
export type {
  Admission,
  AgentIntroduction,
  Transport,
  TransportContext,
  TransportHandlers,
} from "./transport/transport.ts";
export type {
  DatagramOptions,
  Datagrams,
  DatagramSocket,
  Endpoint,
  LocalAddress,
  Route,
} from "./transport/datagrams.ts";
export { closeCode, tlsExporterLabel } from "./transport/socket.ts";
export type { FrameSocket, SocketHandlers } from "./transport/socket.ts";
export type { Epoch } from "./wire/epoch.ts";
export type { AgentStatus } from "./wire/handshake-messages.ts";
export {
  handshakeTimeoutMs,
  heartbeatIntervalMs,
  maxFrameBytes,
  maxHandshakeFrameBytes,
  maxStreamBytes,
  pingFrameBytes,
  silenceLimitMs,
} from "./wire/limits.ts";
export type {
  AgentMessage,
  Attributes,
  OperationOutput,
  OrchestratorMessage,
  PeerError,
} from "./wire/messages.ts";
export { createOrchestratorHandshake } from "./wire/orchestrator-handshake.ts";
export type {
  OrchestratorHandshake,
  OrchestratorHandshakeOptions,
  OrchestratorHandshakeStep,
  ProvedAgent,
} from "./wire/orchestrator-handshake.ts";
export type { MessageHead } from "./wire/message-head.ts";
export type { Incoming, Opened, OrchestratorSession, Session as WireSession } from "./wire/session.ts";
export type { UnreadMessage } from "./wire/unread-message.ts";

// Cluster: how several processes of one orchestrator talk to each other
export type {
  CallMethod,
  Cluster,
  ClusterCall,
  ClusterContext,
  ClusterHandlers,
  ClusterState,
  OpenedPipe,
  Pipe,
  PipeMethod,
  PipeOpening,
  ReceivedCall,
} from "./cluster/cluster.ts";

// Host
export type {
  BackupOptions,
  ChangeOptions as FileChangeOptions,
  DownloadQuestion,
  FileAttributes,
  FileChange,
  FileComparison,
  FileDigest,
  FileExtras,
  FileOwner,
  FileStat,
  Host,
  HostBackups,
  HostCommand,
  HostCommandResult,
  HostDownload,
  HostFiles,
  HostProcess,
  HostUsers,
  LeftProgram,
  RestoreOptions as CopyRestoreOptions,
  WriteOptions,
} from "./host/host.ts";
export { hostError } from "./host/host-error.ts";

// Types of notification channels
export { defineChannelType } from "./notifications/senders/sender.ts";
export type {
  Attempt as ChannelAttempt,
  ChannelType,
  Message as ChannelMessage,
  SendContext,
  Severity as ChannelSeverity,
} from "./notifications/senders/sender.ts";
export type {
  Answered,
  Connected,
  ConnectOptions,
  Outbound,
  OutboundFailure,
  OutboundRequest,
  OutboundSocket,
} from "./notifications/outbound/outbound.ts";

// Types of resources
export { defineResourceType } from "./state/resource-type.ts";
export type {
  DeclaredPart,
  DeclaredParts,
  FireCall,
  ForeseenFolders,
  ForeseenMachine,
  PartHeir,
  PathsSaid,
  Prior,
  ResourceEnding,
  ResourcePlanning,
  ResourceRemoving,
  ResourceSharing,
  ResourceTriggering,
  ResourceType,
  ResourceTypes,
} from "./state/resource-type.ts";
export type { StayingThings } from "./state/resource.ts";
export { resourceTypesWith } from "./state/own-types.ts";
export { resourceTypes } from "./state/resources/index.ts";
export { describeChange } from "./state/resources/shared/describe.ts";
export type { Action, Change } from "./state/result.ts";
export type { TextEdit } from "./state/text-edits.ts";
export type { Trigger } from "./state/triggers.ts";

// Schedules
export type { Cron, Schedule } from "./schedules/cron.ts";
