// ApiRegistration says who serves a group version: this server, or another API server behind a Service. The program
// passes in registrations; api-registrations.ts keeps them. Source: kube-aggregator apiregistration/v1.
import type { ServiceReference } from '../peer/service-address.ts';

/** The address and the certificates of the API server that serves a group version. */
export interface RemoteApi {
  readonly service: ServiceReference;
  /** PEM certificates of the authorities that sign the server's certificate. Undefined = the system's authorities. */
  readonly caBundle: string | undefined;
  /** True: any certificate is accepted. */
  readonly skipsVerification: boolean;
  /** False: requests are answered 503 without asking the server. */
  readonly isAvailable: boolean;
}

/** A group version that another API server serves: an APIService, read. */
export interface ApiRegistration {
  /** For example "v1.example.com"; "v1." for the core group. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** Priority of the group among all groups; higher comes first. If its registrations differ, the highest counts. */
  readonly groupPriority: number;
  /** Priority of the version within its group; higher comes first. */
  readonly versionPriority: number;
  /** Undefined = this server serves the group version. */
  readonly remote: RemoteApi | undefined;
}

/**
 * Returns the path that contains everything of a group version. The core group's registration covers all its versions.
 */
export function rootPathOf({ group, version }: Pick<ApiRegistration, 'group' | 'version'>): string {
  return group === '' ? '/api' : `/apis/${group}/${version}`;
}
