import '../../storage/src/index.ts';
