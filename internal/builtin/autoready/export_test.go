package autoready

// Kinds returns this package's types for the kinds of Kubernetes.
func Kinds() map[string]any {
	return map[string]any{
		"ReplicaSet": replicaSet{}, "Job": job{}, "CronJob": cronJob{}, "HorizontalPodAutoscaler": autoscaler{},
	}
}
