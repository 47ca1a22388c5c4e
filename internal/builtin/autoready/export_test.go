package autoready

// Kinds returns our own types of Kubernetes' kinds, by kind.
func Kinds() map[string]any {
	return map[string]any{
		"ReplicaSet": replicaSet{}, "Job": job{}, "CronJob": cronJob{}, "HorizontalPodAutoscaler": autoscaler{},
	}
}
