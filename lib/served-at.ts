/** Where a server listens. */
export interface ServedAt {
  /** IP address that it listens on: `0.0.0.0` and `::` are all. */
  host: string;
  port: number;
  /** Whether it speaks TLS. */
  isSecure: boolean;
  /** Path of the socket for agents. */
  path: string;
}
