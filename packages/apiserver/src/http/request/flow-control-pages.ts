// The debug pages of FlowControl, which show running and waiting requests at each priority level. Served by
// path-router.ts. Source: apf_controller_debug.go.
import type { Clock } from '@kapstan/api';
import type { FlowControl } from '../../flowcontrol/flow-control.ts';
import { dumpLevels, dumpQueues, dumpRequests } from '../../flowcontrol/flow-control-dump.ts';
import type { Page, PageRequest } from '../exchange/page.ts';

export function flowControlPages(control: FlowControl, clock: Clock): readonly Page[] {
  const page = (name: string, textOf: (request: PageRequest) => string): Page => ({
    path: `/debug/api_priority_and_fairness/${name}`,
    method: 'any',
    isListed: false,
    respond: (request) => ({ contentType: 'text/plain; charset=utf-8', body: Buffer.from(textOf(request)) }),
  });
  return [
    page('dump_priority_levels', () => dumpLevels(control)),
    page('dump_queues', () => dumpQueues(control)),
    page('dump_requests', ({ query }) =>
      dumpRequests(control, {
        withDetails: (query.get('includeRequestDetails') ?? '') !== '',
        epochMs: clock.now() - clock.monotonicNow(),
      }),
    ),
  ];
}
