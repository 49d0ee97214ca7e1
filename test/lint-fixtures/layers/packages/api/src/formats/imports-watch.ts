import '../watch/machine.ts';
