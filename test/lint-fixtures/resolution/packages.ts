import '@kapstan/kinds';
import '@kapstan/kinds/facts';
import '@kapstan/controller/workqueue';
