import { expect, it } from 'vitest';
import { flagWarnings } from './flag-warnings.ts';
import { parseServeFlags } from './serve-flags.ts';

it.each<[string[], string[]]>([
  [[], []],
  [['--watch-cache-sizes=pods#7,deployments.apps#0'], []],
  [
    ['--watch-cache-sizes=nosuchthing#5,pods#1,nosuch.example.com#7'],
    [
      '--watch-cache-sizes: "nosuchthing" is no built-in resource; is it a custom one?',
      '--watch-cache-sizes: "nosuch.example.com" is no built-in resource; is it a custom one?',
    ],
  ],
  [['--etcd-prefix='], ['--etcd-prefix is empty: keys begin with their resource']],
  [['--authorization-mode=RBAC'], []],
  [
    ['--authorization-mode=RBAC,AlwaysAllow'],
    [
      '--authorization-mode=AlwaysAllow: whoever can log in may do everything; requests without credentials are refused',
    ],
  ],
])('of %j it warns %j', (args, warnings) => {
  expect(flagWarnings(parseServeFlags(args))).toEqual(warnings);
});
