import '../../kinds/src/facts/index.ts';
