// ClusterProxy: the byte proxy before a test cluster's server. It reports connections to the faults, and classifies the server's
// requests as watches or calls.
import type { Clock } from '@kapstan/api';
import type { IncomingRequest } from '@kapstan/apiserver';
import type { Activity } from './activity.ts';
import { ByteProxy } from './byte-proxy.ts';
import type { Faults, FaultTarget } from './fault.ts';

export interface ClusterProxyOptions {
  readonly targetPort: () => number;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly activity: Activity;
}

export function startClusterProxy(options: ClusterProxyOptions): Promise<ByteProxy> {
  const { faults, activity } = options;
  return ByteProxy.start({
    targetPort: options.targetPort,
    clock: options.clock,
    onConnection: (connection) => {
      const forget = faults.open(connection);
      void connection.closed.then(forget);
    },
    onActivity: () => activity.moved(),
  });
}

export interface RequestObserverOptions {
  readonly proxy: () => ByteProxy | undefined;
  readonly faults: Faults;
  readonly activity: Activity;
}

/**
 * Returns the function that the server calls with each request. It throws the error with which a fault wants to answer.
 */
export function requestObserver(options: RequestObserverOptions): (request: IncomingRequest) => void {
  const { proxy, faults, activity } = options;
  return (request) => {
    const kind = kindOf(request);
    const port = request.socket?.remotePort;
    const connection = proxy()?.connections.find(({ serverSidePort }) => serverSidePort === port);
    if (connection !== undefined && connection.kind !== kind) {
      connection.kind = kind;
      faults.classified(connection);
    }
    if (kind === 'call') request.onClose(activity.beginRequest());
    else activity.moved();
    faults.refuse(kind);
  };
}

function kindOf({ query, path }: IncomingRequest): FaultTarget {
  const watch = query.get('watch');
  const isFollowed = query.get('follow') === 'true' && path.endsWith('/log');
  return watch === 'true' || watch === '1' || path.includes('/watch/') || isFollowed ? 'watch' : 'call';
}
